"""The rule of approvals, stated a second time, as plain predicates over what was asked, sent, by whom and when.

It shares no code with the host: from a turn and one message it says what became of each call, and what was done to the world.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from attrs import frozen
from pydantic import JsonValue


@frozen
class Said:
    """One message to a set: what, from whom, whether before the set expired."""

    bundle: JsonValue
    by: str
    in_time: bool


def well_formed(bundle: JsonValue, set_id: str, digests: Mapping[str, str]) -> bool:
    """Whether a bundle decides exactly the gated calls, each once, by the digest that was shown, with one of two words."""
    if not isinstance(bundle, dict) or set(bundle) != {"set", "decisions"} or bundle["set"] != set_id:
        return False
    words = bundle["decisions"]
    if not isinstance(words, list) or any(not isinstance(word, dict) for word in words):
        return False
    if any(set(word) != {"call", "digest", "verdict"} for word in words):  # type: ignore[arg-type]
        return False
    if any(type(word["verdict"]) is not str or word["verdict"] not in ("approved", "denied") for word in words):  # type: ignore[index,call-overload]
        return False
    named = Counter(str(word["call"]) for word in words if isinstance(word, dict) and isinstance(word["call"], str))
    return named == Counter([*digests]) and all(word["digest"] == digests[word["call"]] for word in words)  # type: ignore[index,call-overload]


def ends(
    gated: Mapping[str, str], free: Sequence[str], reads: Sequence[str], set_id: str, said: Said
) -> tuple[dict[str, str], set[str]]:
    """The status of each call that has a result, and the calls that were run.

    `gated` gives the digests of the gated calls, `free` are the ungated writes.
    """
    results, ran = dict.fromkeys(reads, "executed"), {*reads}
    if said.in_time and said.by != "app":
        return results, ran
    if not said.in_time or not well_formed(said.bundle, set_id, gated):
        results |= dict.fromkeys(gated, "rejected")
    else:
        assert isinstance(said.bundle, dict)
        words: list[dict[str, str]] = said.bundle["decisions"]  # type: ignore[assignment]
        results |= {word["call"]: "executed" if word["verdict"] == "approved" else "rejected" for word in words}
    results |= dict.fromkeys(free, "executed")
    return results, {id for id, status in results.items() if status == "executed"}
