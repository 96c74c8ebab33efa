"""Judges one program through the generated client and prints what came of it."""

import hashlib
import io
import os

from judged_client import AuthenticatedClient
from judged_client.api.blobs import put_blob
from judged_client.api.jobs import get_job, put_job
from judged_client.models import File, Job, Limits, Problem, Report, ReportState, Test
from judged_client.types import File as Upload

client = AuthenticatedClient(base_url=os.environ["JUDGED_URL"], token=os.environ["JUDGED_TOKEN"], timeout=90)

content = b"1 2\n"
digest = hashlib.sha256(content).hexdigest()
stored = put_blob.sync(digest, client=client, body=Upload(payload=io.BytesIO(content)))
assert stored.size_bytes == len(content), stored

job = Job(
    program=File(text="#!/bin/sh\nread -r a b\necho $((a + b))\n"),
    tests=[Test(name="1", input_=File(blob=digest), answer=File(base64="Mwo="))],
    limits=Limits(cpu_time_ms=3000),
)
report = put_job.sync("python", client=client, body=job, wait="60s")
while isinstance(report, Report) and report.state in (ReportState.QUEUED, ReportState.RUNNING):
    report = get_job.sync("python", client=client, wait="60s")
assert isinstance(report, Report), report

problem = get_job.sync("absent", client=client)
assert isinstance(problem, Problem), problem
print(report.verdict, report.tests[0].timing.limit_ns, problem.type_)
