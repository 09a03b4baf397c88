import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import requests

from tests.chaos.servers import service, timed


def test_a_rate_holds_exactly_across_workers(
    redis: tuple[str, subprocess.Popen[bytes]],
) -> None:
    url, process = redis
    with service(THROTTLE_RATE="50/day", CACHE_URL=url, WEB_CONCURRENCY="3") as server:
        bearer = [server.caller(sub="fast") for _ in range(12)]
        other = server.caller(sub="patient")
        with ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(lambda n: bearer[n % 12].get(), range(150)))
        assert Counter(answer.status_code for answer in answers) == {200: 50, 429: 100}
        left = Counter(int(answer.headers["RateLimit-Remaining"]) for answer in answers)
        assert left == {**dict.fromkeys(range(1, 50), 1), 0: 101}
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert 1 <= int(refused.headers["Retry-After"]) <= 24 * 60 * 60
        assert refused.json()["notifications"][0]["code"] == "throttled"
        assert other.get().status_code == 200
        assert requests.get(f"{server.url}/healthz", timeout=60).ok

        # A failing rate limit must not take the service down with it.
        process.kill()
        process.wait()
        unlimited, seconds = timed(bearer[0], "GET")
        assert unlimited.status_code == 200
        assert "RateLimit-Limit" not in unlimited.headers
        assert seconds < 2
