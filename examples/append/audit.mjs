import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

/** Appends a record; resolves once it is stored. */
export async function append(fields) {
  const body = JSON.stringify({ id: randomUUID(), timestamp: new Date().toISOString(), ...fields });
  for (let attempt = 1, pause = 200; ; attempt++, pause = Math.min(2 * pause, 10_000)) {
    let problem;
    try {
      const answer = await fetch(`${process.env.ANNALS_URL}/v1/project-logs`, {
        method: "POST",
        headers: { Authorization: `Bearer ${process.env.ANNALS_TOKEN}`, "Content-Type": "application/json" },
        body,
        signal: AbortSignal.timeout(30_000),
      });
      const text = await answer.text();
      if (answer.ok) return JSON.parse(text);
      if (answer.status !== 429 && answer.status !== 503) throw Object.assign(new Error(text), { final: true });
      problem = text;
      pause = Math.max(pause, 1000 * Number(answer.headers.get("Retry-After") ?? 0));
    } catch (e) {
      if (e.final) throw e;
      problem ??= e;
    }
    if (attempt === 10) throw new Error(`not stored: ${problem}`);
    await sleep(pause);
  }
}

console.log(JSON.stringify(await append({ action: "volume_create", actor: { type: "user", id: "u-node" } })));
