//! Uses the generated client as an application would; any surprise ends it with an error.

use annals_client::apis::configuration::Configuration;
use annals_client::apis::{project_logs_api as logs, Error};
use annals_client::models::{Actor, AuditRecordBatch, AuditRecordInput, Problem, ProjectLogPage};
use std::collections::HashMap;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut service = Configuration::new();
    service.base_path = std::env::var("ANNALS_URL").unwrap();
    service.bearer_access_token = std::env::var("ANNALS_TOKEN").ok();

    let time = chrono::DateTime::parse_from_rfc3339("2025-09-03T11:15:19.391447Z").unwrap();
    let records = (1..=5)
        .map(|number| {
            let mut actor = Actor::new();
            actor.r#type = Some("user".into());
            actor.name = Some("jane@example.org".into());
            let mut record = AuditRecordInput::new("volume_create".into());
            record.id = Some(uuid::Uuid::new_v4());
            record.actor = Some(Box::new(actor));
            record.ip_address = Some("2001:db8::7".into());
            record.timestamp = Some(time);
            record.metadata = Some(HashMap::from([("number".into(), number.into())]));
            record
        })
        .collect();
    let batch = AuditRecordBatch::new(records);
    let appended = logs::append_project_log_batch(&service, batch.clone()).await.unwrap();
    assert_eq!(appended.results.len(), 5);
    for (i, (stored, sent)) in appended.results.iter().zip(&batch.records).enumerate() {
        assert_eq!((Some(stored.id), stored.sequence_id), (sent.id, i as i64 + 1));
    }
    assert_eq!(logs::append_project_log_batch(&service, batch.clone()).await.unwrap(), appended);

    let mut page = list(&service, None, Some(2)).await;
    let mut read = page.results.clone();
    while let Some(next) = &page.next {
        page = list(&service, Some(cursor_of(next)), Some(2)).await;
        read.extend(page.results.clone());
    }
    assert_eq!(read.len(), 5);
    let last = &read[4];
    assert_eq!((Some(last.id), last.timestamp), (batch.records[4].id, time));
    assert_eq!((last.ip_address.as_deref(), &last.metadata["number"]), (Some("2001:db8::7"), &5.into()));
    assert_eq!(&logs::get_project_log(&service, &last.id.to_string()).await.unwrap(), last);

    assert!(list(&service, Some(cursor_of(&page.poll_more)), None).await.results.is_empty());
    let stored = logs::append_project_log(&service, AuditRecordInput::new("login".into())).await.unwrap();
    assert_eq!(stored.sequence_id, 6);
    assert_eq!(list(&service, Some(cursor_of(&page.poll_more)), None).await.results, [stored]);

    let export = logs::export_project_logs(&service, None, None, None, None, None, None, None, None, None, None, None);
    let lines = export.await.unwrap().text().await.unwrap();
    assert!(lines.lines().count() == 6 && lines.contains("\"login\""), "{lines}");

    let wrong = AuditRecordBatch::new(vec![AuditRecordInput::new("".into())]);
    match logs::append_project_log_batch(&service, wrong).await {
        Err(Error::ResponseError(refused)) => {
            let problem: Problem = serde_json::from_str(&refused.content).unwrap();
            assert_eq!(refused.status.as_u16(), 422);
            assert_eq!(problem.r#type, "urn:annals:problem:invalid-record");
            assert_eq!(problem.errors.unwrap()[0].pointer, "/records/0/action");
        }
        other => panic!("a record without action was answered with {other:?}"),
    }
    println!("tour complete");
}

async fn list(service: &Configuration, cursor: Option<String>, limit: Option<i32>) -> ProjectLogPage {
    let cursor = cursor.as_deref();
    logs::list_project_logs(
        service, cursor, limit, None, None, None, None, None, None, None, None, None, None, None, None, None,
    )
    .await
    .unwrap()
}

fn cursor_of(page: &str) -> String {
    let (_, query) = page.split_once('?').unwrap();
    query.split('&').find_map(|parameter| parameter.strip_prefix("cursor=")).unwrap().into()
}
