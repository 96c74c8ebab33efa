// A contest site with one problem, which judged judges. It keeps nothing itself: judged has the submissions, and a label
// says which are the site's. Run it with JUDGED_URL, JUDGED_TOKEN (scopes submit and read) and a port:
//
//     npx tsc --module nodenext --target es2022 site.mts && \
//     JUDGED_URL=http://127.0.0.1:8080 JUDGED_TOKEN=... node site.mjs 8000
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Report {
  id: string;
  state: string;
  verdict?: string;
  message?: string;
  labels?: Record<string, string>;
  tests?: { name: string; verdict: string; cpu_time_ns?: number }[];
}

interface Problem {
  detail: string;
  next_step: string;
}

const site = "typescript-site";

// Of the problem: print the sum of two numbers.
const tests = [["1 2", "3"], ["20 22", "42"], ["-5 5", "0"]].map(([input, answer], n) => ({
  name: String(n + 1),
  input: { text: input + "\n" },
  answer: { text: answer + "\n" },
}));

// Sends a request to judged. A failure has the detail of the answer.
async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(process.env.JUDGED_URL + path, {
    method,
    headers: { Authorization: `Bearer ${process.env.JUDGED_TOKEN}`, "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.ok) return (await answer.json()) as T;
  const problem = (await answer.json()) as Problem;
  throw new Refused(answer.status, `${problem.detail}; ${problem.next_step}`);
}

class Refused extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

// The site chooses the id, so that the request may be repeated.
function submit(form: URLSearchParams): Promise<Report> {
  return ask("PUT", `/v1/jobs/${randomUUID()}`, {
    program: { text: form.get("source") ?? "" },
    language: form.get("language") ?? "",
    labels: { site, team: form.get("team") ?? "" },
    priority: "contest",
    limits: { cpu_time_ms: 2000 },
    tests,
  });
}

// All submissions of the site, newest first.
async function submissions(): Promise<Report[]> {
  const all: Report[] = [];
  for (let after = ""; ; ) {
    const query = new URLSearchParams({ label: `site=${site}`, limit: "500", after });
    const page = await ask<{ jobs: Report[]; next?: string }>("GET", `/v1/jobs?${query}`);
    all.push(...page.jobs);
    if (!page.next) return all;
    after = page.next;
  }
}

const escape = (text: string) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const verdict = (report: Report) => report.verdict ?? report.state;
const table = (rows: string[][]) =>
  `<table>${rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join("")}</tr>`).join("")}</table>`;

const form = `<form method=post>Team <input name=team> Language <input name=language value=python>
<br><textarea name=source rows=12 cols=80></textarea><br><button>Submit</button></form>`;

async function serve(request: IncomingMessage, answer: ServerResponse): Promise<string> {
  const path = new URL(request.url ?? "/", "http://site").pathname;
  if (request.method === "POST") {
    let body = "";
    for await (const part of request.setEncoding("utf8")) {
      body += part;
      if (body.length > 100_000) throw new Refused(413, "The program is too long.");
    }
    const report = await submit(new URLSearchParams(body));
    answer.writeHead(303, { Location: `/${report.id}` });
    return "";
  }
  if (path === "/") {
    const rows = (await submissions()).map((job) => [
      escape(job.labels?.team ?? ""), `<a href="/${escape(job.id)}">${escape(verdict(job))}</a>`]);
    return form + table(rows);
  }
  // A long poll: the answer comes when the job has ended, or after the time.
  const id = encodeURIComponent(decodeURIComponent(path.slice(1)));
  const report = await ask<Report>("GET", `/v1/jobs/${id}?wait=30s`);
  const rows = (report.tests ?? []).map((test) => [
    escape(test.name), escape(test.verdict), `${(test.cpu_time_ns ?? 0) / 1e6} ms`]);
  return `<h1>${escape(verdict(report))}</h1><pre>${escape(report.message ?? "")}</pre>${table(rows)}`;
}

const server = createServer(async (request, answer) => {
  let body: string;
  try {
    body = await serve(request, answer);
  } catch (error) {
    answer.statusCode = error instanceof Refused ? (request.method === "POST" ? 422 : error.status) : 502;
    body = escape(error instanceof Error ? error.message : String(error));
  }
  if (!answer.headersSent) answer.setHeader("Content-Type", "text/html; charset=utf-8");
  answer.end(body && `<!doctype html><title>Contest</title>${body}`);
});
server.listen(Number(process.argv[2]), "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`));
