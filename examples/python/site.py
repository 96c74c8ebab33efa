"""A contest site with one problem, which judged judges. It keeps nothing itself: judged has the submissions, and a label
says which are the site's. Run it with JUDGED_URL, JUDGED_TOKEN (scopes submit and read) and a port:

    JUDGED_URL=http://127.0.0.1:8080 JUDGED_TOKEN=... python3 site.py 8000
"""

import html
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

URL, TOKEN = os.environ["JUDGED_URL"], os.environ.get("JUDGED_TOKEN", "")
SITE = "python-site"
TESTS = [("1 2", "3"), ("20 22", "42"), ("-5 5", "0")]  # of the problem: print the sum of two numbers
FORM = """<form method=post>Team <input name=team> Language <input name=language value=python>
<br><textarea name=source rows=12 cols=80></textarea><br><button>Submit</button></form>"""


def ask(method, path, body=None):
    """Sends a request to judged. Returns the status and the decoded answer, of errors too."""
    request = urllib.request.Request(URL + path, method=method, headers={"Content-Type": "application/json"})
    if TOKEN:
        request.add_header("Authorization", "Bearer " + TOKEN)
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data, timeout=90) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def submit(team, language, source):
    """Submits a program. The site chooses the ID, so that the request may be repeated."""
    job = {
        "program": {"text": source}, "language": language, "labels": {"site": SITE, "team": team},
        "priority": "contest", "limits": {"cpu_time_ms": 2000},
        "tests": [{"name": str(n + 1), "input": {"text": text + "\n"}, "answer": {"text": answer + "\n"}}
                  for n, (text, answer) in enumerate(TESTS)],
    }
    return ask("PUT", "/v1/jobs/" + str(uuid.uuid4()), job)


def submissions():
    """Yields all submissions of the site, newest first."""
    after = ""
    while True:
        query = urllib.parse.urlencode({"label": "site=" + SITE, "limit": 500, "after": after})
        status, page = ask("GET", "/v1/jobs?" + query)
        if status != 200:
            raise RuntimeError(page["detail"])
        yield from page["jobs"]
        after = page.get("next")
        if not after:
            return


def table(head, rows):
    """Rows of cells as HTML; the first cell is the path of a link."""
    cells = lambda row: "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row)
    lines = [f'<tr>{cells(row[1:])}<td><a href="{html.escape(row[0])}">report</a></td></tr>' for row in rows]
    return f"<table><tr>{cells(head)}</tr>{''.join(lines)}</table>"


class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        if path == "/":
            rows = [("/" + quoted(job["id"]), job["labels"]["team"], verdict(job)) for job in submissions()]
            return self.page(200, FORM + table(("Team", "Verdict"), rows))
        # A long poll: the answer comes when the job has ended, or after the time.
        status, report = ask("GET", f"/v1/jobs/{quoted(path[1:])}?wait=30s")
        if status != 200:
            return self.page(status, html.escape(report["detail"]))
        rows = [(path, test["name"], test["verdict"], test.get("cpu_time_ns", 0) / 1e6)
                for test in report.get("tests") or []]
        message = html.escape(report.get("message", ""))
        self.page(200, f"<h1>{verdict(report)}</h1><pre>{message}</pre>" + table(("Test", "Verdict", "ms"), rows))

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        if length > 100_000:
            return self.page(413, "The program is too long.")
        form = urllib.parse.parse_qs(self.rfile.read(length).decode())
        team, language, source = (form.get(name, [""])[0] for name in ("team", "language", "source"))
        status, answer = submit(team, language, source)
        if status not in (200, 202):
            return self.page(422, html.escape(f"{answer['detail']}; {answer['next_step']}"))
        self.send_response(303)
        self.send_header("Location", "/" + answer["id"])
        self.end_headers()

    def page(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(f"<!doctype html><title>Contest</title>{body}".encode())

    def log_message(self, *args):
        pass


def quoted(text):
    return urllib.parse.quote(urllib.parse.unquote(text), safe="")


def verdict(report):
    return report.get("verdict") or report["state"]


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Site)
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
