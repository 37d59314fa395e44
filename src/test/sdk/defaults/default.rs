// Appends a record, reads it, and polls, with a client that openapi-generator makes without options.
use openapi::apis::{configuration::Configuration, project_logs_api::*};
use openapi::models::{AuditRecordInput, ProjectLogPage};

async fn page(service: &Configuration, cursor: Option<&str>) -> ProjectLogPage {
    list_project_logs(
        service, cursor, None, None, None, None, None, None, None, None, None, None, None, None, None, None,
    )
    .await
    .unwrap()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut service = Configuration::new();
    service.base_path = std::env::var("ANNALS_URL").unwrap();
    service.bearer_access_token = Some(std::env::var("ANNALS_TOKEN").unwrap());
    append_project_log(&service, AuditRecordInput::new("volume_create".to_string())).await.unwrap();
    let first = page(&service, None).await;
    let more = first.poll_more.split("cursor=").nth(1).unwrap().split('&').next().unwrap().to_string();
    println!("{} {}", first.results[0].action, page(&service, Some(&more)).await.results.len());
}
