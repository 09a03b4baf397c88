from django.http import HttpResponse
from prometheus_client import REGISTRY

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
