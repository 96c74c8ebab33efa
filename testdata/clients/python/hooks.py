"""What OpenAPI cannot say about a request that judged accepts, for schemathesis."""

import hashlib
import io
import os
import unicodedata
import zipfile

import requests
import schemathesis

CONTENT = b"1 2\n"
JURY = ("icpc", "testlib", "cms", "sio", "bridged")
DIGEST = hashlib.sha256(CONTENT).hexdigest()
requests.put(
    f"{os.environ['JUDGED_URL']}/v1/blobs/{DIGEST}",
    data=CONTENT,
    headers={"Authorization": f"Bearer {os.environ['JUDGED_TOKEN']}"},
    timeout=30,
).raise_for_status()


def contents(job):
    """Every file of a job."""
    yield job.get("program")
    yield from job.get("files", {}).values()
    for jury in ("checker", "interactor"):
        yield job.get(jury, {}).get("program")
        yield from job.get(jury, {}).get("files", {}).values()
    for test in job.get("tests", []):
        yield test.get("input")
        yield test.get("answer")
        yield from test.get("files", {}).values()


def fits(text):
    """Whether a name is not too long in bytes, and printable by every version of Unicode."""
    return len(text.encode()) <= 255 and all(c == " " or unicodedata.category(c)[0] in "LMNPS" for c in text)


def ordered(body):
    """Whether the repeats of a job or a rejudging have a maximum that is not below the minimum."""
    repeats = body.get("repeats", {})
    return repeats.get("min", 0) <= repeats.get("max", 100)


def selects(body):
    """Whether the filter of a rejudging, if any, selects by something that a job can have."""
    chosen = body.get("filter", {"problem": ""})
    times = [chosen[name] for name in ("created_from", "created_to") if name in chosen]
    return (
        chosen != {"labels": {}}
        and all(map(fits, chosen.get("labels", {}).values()))
        and all("1971" < time < "2200" for time in times)  # no job has another one
    )


def possible(job):
    """Whether a job that fits its schema fits itself, too."""
    names = [test["name"] for test in job.get("tests", [])]
    return (
        len(set(names)) == len(names)
        and all(map(fits, names))
        and all(map(fits, job.get("files", {})))
        and all(fits(name) for test in job.get("tests", []) for name in test.get("files", {}))
        and all(fits(name) for jury in ("checker", "interactor") for name in job.get(jury, {}).get("files", {}))
        and all(map(fits, job.get("labels", {}).values()))
        and ordered(job)
        and (not job.get("command") or job["command"][0] != "")
        # Arguments of kattis are flags, some with a number.
        and (job.get("checker", {}).get("kind") != "kattis" or not job["checker"].get("args"))
    )


def package():
    """The smallest problem package."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("problem.yaml", "name: Echo\n")
        z.writestr(".timelimit", "1\n")
        z.writestr("data/secret/1.in", "1\n")
        z.writestr("data/secret/1.ans", "1\n")
    return archive.getvalue()


def complete(job):
    """Names contents that are there, and leaves out what depends on the host and on other requests."""
    job.pop("problem", None)
    job.pop("problem_version", None)
    job.setdefault("tests", [{"name": "1"}])
    job.setdefault("program", {"text": "#!/bin/sh\n"})
    if not job.get("interactor"):
        job.pop("transcript", None)
    elif job["interactor"]["kind"] != "testlib" or job.get("checker", {}).get("kind") not in JURY:
        job.pop("checker", None)
    if (job.get("interactor") or job.get("checker") or {}).get("kind") != "icpc":
        job.pop("passes", None)
    job.pop("pool", None)
    job.pop("callback", None)  # needs a secret of the operator
    if not job.get("interactor") and job.get("checker", {}).get("kind") not in JURY:
        for test in job["tests"]:
            test.pop("checker_args", None)
    names = set(job.get("files", {})).union(*(test.get("files", {}) for test in job["tests"]))
    for name in ("input_file", "output_file"):
        if job.get("interactor") or job.get(name) in names or not fits(job.get(name, "")):
            job.pop(name, None)
    if job.get("output_file") == job.get("input_file"):
        job.pop("output_file", None)
    for sources in (job, job.get("checker", {}), job.get("interactor", {})):
        sources.pop("language", None)
    job.pop("compile_options", None)  # these need a language
    job.pop("factors", None)
    job.get("keep", {}).pop("compiler", None)
    for file in contents(job):
        if file and ("blob" in file or "part" in file):
            file.clear()
            file["blob"] = DIGEST
    return job


def operation(context):
    return context.operation.definition.raw["operationId"]


def items_of(context, case):
    """The jobs of a batch with their ids."""
    items = case.body.get("jobs") if operation(context) == "postBatch" and isinstance(case.body, dict) else None
    return items if isinstance(items, list) else []


def jobs_of(context, case):
    """The jobs in a body: one, as JSON or as a part of a form, or those of a batch."""
    if operation(context) not in ("postJob", "putJob") or not isinstance(case.body, dict):
        return [item["job"] for item in items_of(context, case)]
    job = case.body if case.media_type == "application/json" else case.body.get("job")
    return [job] if isinstance(job, dict) else []


def meant_to_fail(case):
    return case.meta is not None and case.meta.generation.mode.is_negative


@schemathesis.hook
def filter_case(context, case):
    if meant_to_fail(case):
        return True
    labels = [label.split("=", 1)[0] for label in (case.query or {}).get("label", [])]
    if operation(context) == "createRejudging" and isinstance(case.body, dict):
        return ordered(case.body) and selects(case.body)
    return all(map(possible, jobs_of(context, case))) and len(set(labels)) == len(labels)


@schemathesis.hook
def before_call(context, case, kwargs):
    if meant_to_fail(case):
        return
    for job in jobs_of(context, case):
        complete(job)
        if case.media_type != "application/json":
            case.body = {"job": job}
    for item in items_of(context, case):
        if "id" in item:
            item.pop("idempotency_key", None)
    if operation(context) == "putBlob":
        case.body, case.path_parameters["sha256"] = CONTENT, DIGEST
    if operation(context) == "getBlob" and case.headers:
        case.headers.pop("Range", None)  # it must fit the size of the blob
    if operation(context) == "putProblem":
        case.body = package()
    if operation(context) == "requestPrefetch":
        case.body = {"problems": [], "blobs": [DIGEST]}
    if operation(context) == "listJobs" and case.query:
        case.query.pop("after", None)  # a cursor comes from a page
        for name in ("created_from", "created_to"):  # times of this age
            case.query.pop(name, None)
