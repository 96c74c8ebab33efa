// Judges one program through the generated types and prints what came of it.
import { createHash } from "node:crypto";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const client = createClient<paths>({
  baseUrl: process.env.JUDGED_URL,
  headers: { Authorization: `Bearer ${process.env.JUDGED_TOKEN}` },
});

const content = "1 2\n";
const digest = createHash("sha256").update(content).digest("hex");
const stored = await client.PUT("/v1/blobs/{sha256}", {
  params: { path: { sha256: digest } },
  body: content,
  bodySerializer: (body) => body,
  headers: { "Content-Type": "application/octet-stream" },
});
if (stored.data?.size_bytes !== content.length) throw new Error(JSON.stringify(stored.error));

const job: components["schemas"]["Job"] = {
  program: { text: "#!/bin/sh\nread -r a b\necho $((a + b))\n" },
  tests: [{ name: "1", input: { blob: digest }, answer: { base64: "Mwo=" } }],
  limits: { cpu_time_ms: 3000 },
};
const params = { path: { id: "typescript" }, query: { wait: "60s" } };
let { data: report, error } = await client.PUT("/v1/jobs/{id}", { params, body: job });
while (report && report.state !== "done") {
  ({ data: report, error } = await client.GET("/v1/jobs/{id}", { params }));
}
if (!report) throw new Error(JSON.stringify(error));

const absent = await client.GET("/v1/jobs/{id}", { params: { path: { id: "absent" } } });
const limit: number | undefined = report.tests?.[0]?.timing?.limit_ns;
console.log(report.verdict, limit, absent.error?.type);
