"""One client of a crowd: reads its calls, says that it is ready, and makes them when it is told to."""

import http.client
import json
import sys


def answers(url: str, calls: list[tuple]) -> list[tuple]:
    """Make calls one after another over one connection; their statuses and bodies."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=600)
    found = []
    for method, path, key, body, more in calls:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", **more}
        connection.request(method, f"/v1{path}", None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        found.append((answer.status, json.loads(answer.read())))
    return found


if __name__ == "__main__":
    given = json.loads(sys.stdin.readline())
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(answers(sys.argv[1], given)))
