"""The benchmarks run, and what is flat stays flat: small rounds, ratios only."""

from lifecycle.law.log import Entry
from tests.benchmarks import kit, law, sqlite, tools
from tests.benchmarks.measure import race


def test_the_law_is_far_ahead_of_a_nested_machine_doing_less() -> None:
    figure = race("script", lambda: law.walk(50), "nested transitions", law.nested(), None, rounds=3)
    assert figure.ratio > 5


def test_refusing_costs_no_more_than_twice_accepting() -> None:
    figure = race("refusal", lambda: law.refused(2_000), "progress", lambda: law.progress(2_000), None, rounds=3)
    assert figure.ratio > 0.3


def test_a_log_replays_to_its_end() -> None:
    assert all(isinstance(entry, Entry) for entry in law.sealed())


def test_the_cost_of_a_job_does_not_grow_with_the_number_of_jobs() -> None:
    (_, few), (_, many) = sqlite.growth((1_000, 20_000))
    for name in ("open", "read one", "list due", "one act"):
        assert many[name] < 5 * few[name] + 5, name


def test_a_gated_call_costs_little_more_than_its_commits() -> None:
    files = sqlite.Files()
    figure = race("gated call", tools.ours(files), "its commits", tools.commits(files), None, rounds=3)
    files.close()
    assert figure.ratio > 0.1


def test_a_tour_covers_in_one_go_what_random_walks_do_not_in_as_long() -> None:
    kit.toured(2)  # which ways there are is found once
    figure = race("edge pairs", lambda: kit.toured(2), "random walks", lambda: kit.walked(2, 0.5), None, rounds=3)
    assert figure.ratio > 1
