import pytest
from django.http import HttpResponse
from prometheus_client import REGISTRY, Counter

from cartsvc.serving import metrics

NAME = "cartsvc_request_seconds_bucket"


def test_a_duration_is_counted_in_buckets_up_to_five_seconds() -> None:
    """Alerts name a bucket; within five seconds every request is answered."""
    metrics.count("Durations", HttpResponse(), 4.9)

    counts = {
        sample.labels["le"]: sample.value
        for family in REGISTRY.collect()
        for sample in family.samples
        if sample.name == NAME and sample.labels["operation"] == "Durations"
    }
    shorter = ["0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.5"]
    assert counts == {**dict.fromkeys(shorter, 0.0), "5.0": 1.0, "+Inf": 1.0}


@pytest.mark.parametrize(
    ("status", "replayed", "counted"),
    [
        (200, False, "Test made"),
        (200, True, "replays"),
        (400, False, None),
        (409, False, "conflicts"),
        (412, False, "conflicts"),
        (422, False, "conflicts"),
        (500, False, None),
    ],
)
def test_an_answer_counts_as_what_it_is(status: int, replayed: bool, counted: str | None) -> None:
    made = Counter("test_made", "Things made.", registry=None)
    answer = HttpResponse(status=status)
    if replayed:
        answer["Idempotent-Replayed"] = "true"

    def counts() -> dict[str, float]:
        labels = {"operation": "Test"}
        return {
            "requests": value("cartsvc_requests_total", {**labels, "status": str(status)}),
            "replays": value("cartsvc_replays_total", {}),
            "conflicts": value("cartsvc_conflicts_total", labels),
            "Test made": next(iter(made.collect())).samples[0].value,
        }

    before = counts()
    metrics.count("Test", answer, 0.1, made)

    grown = {name for name, number in counts().items() if number == before[name] + 1}
    assert grown == {"requests", counted} - {None}


def value(name: str, labels: dict[str, str]) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0
