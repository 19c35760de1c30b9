"""Counters about peers: nothing that a stranger says becomes a label."""

from __future__ import annotations

from node.core.metrics import Metrics
from node.peers.rules.admission import ADMISSION_REASONS, CODES
from node.peers.rules.values import PEER_TIERS, Tier


def lines(metrics: Metrics, name: str) -> dict[str, float]:
    """Samples of one family by their labels."""
    text = metrics.text().decode()
    found = [line.removeprefix(name) for line in text.splitlines() if line.startswith(f"{name}{{")]
    return {labels: float(value) for labels, value in (line.rsplit(" ", 1) for line in found)}


def test_reasons_come_from_a_list() -> None:
    metrics = Metrics(ADMISSION_REASONS, PEER_TIERS)
    for reason in ("signature of did:key:z6Mk", "http://peer.example", "bafy", "", "x" * 10_000):
        metrics.admission("refused", reason)
    metrics.admission("stolen", "size")
    metrics.admission("admitted", Tier.TRUSTED)
    metrics.admission("held", "untrusted")
    for code in CODES:
        metrics.admission("refused", code)
    found = lines(metrics, "neuroswarm_admissions_total")
    assert found['{reason="other",result="refused"}'] == 5
    assert found['{reason="size",result="other"}'] == 1
    assert found['{reason="trusted",result="admitted"}'] == 1
    assert all(found[f'{{reason="{code}",result="refused"}}'] == 1 for code in CODES)
    assert not any(word in str(found) for word in ("did:key", "http", "bafy"))


def test_rounds_are_counted_by_outcome() -> None:
    metrics = Metrics(ADMISSION_REASONS, PEER_TIERS)
    for outcome in ("synced", "synced", "failed", "http://peer.example"):
        metrics.synced(outcome)
    assert lines(metrics, "neuroswarm_peer_syncs_total") == {
        '{outcome="synced"}': 2,
        '{outcome="failed"}': 1,
        '{outcome="other"}': 1,
    }


def test_gauges_follow_what_is_held() -> None:
    metrics = Metrics(ADMISSION_REASONS, PEER_TIERS)
    metrics.peer_records({Tier.TRUSTED: 3, Tier.UNTRUSTED: 2})
    metrics.peer_records({Tier.UNTRUSTED: 5})
    assert lines(metrics, "neuroswarm_peer_records") == {
        '{tier="verified"}': 0,
        '{tier="trusted"}': 0,
        '{tier="quorum"}': 0,
        '{tier="untrusted"}': 5,
    }
    metrics.set(peers=2, peers_dropped=1, peer_bytes=10, publications_size=7)
    text = metrics.text().decode()
    for line in ("peers 2.0", "peers_dropped 1.0", "peer_bytes 10.0", "publications_size 7.0"):
        assert f"\nneuroswarm_{line}\n" in text
