"""The fixture in a project of its own, as a user has it: registered by entry point, light until used."""

from pathlib import Path

pytest_plugins = ["pytester"]

LEAKS = """
    import numpy as np
    import pytest
    from tacit.leak import leak_from_guesses
    from tacit.privacy import Guarantee, Unit

    truth = np.arange(2000) % 2
    nothing = leak_from_guesses(np.zeros(2000), truth, baseline=0.5)
    everything = leak_from_guesses(truth, truth, baseline=0.5)
    little = leak_from_guesses(np.zeros(20), truth[:20], baseline=0.5)
"""


def run(pytester, source):
    pytester.makepyfile(LEAKS + source)
    return pytester.runpytest_inprocess("-p", "no:cacheprovider")


def test_a_safe_release_passes(pytester):
    result = run(
        pytester,
        """
    def test_release(assert_leak_below):
        assert_leak_below(nothing, advantage=0.05, epsilon=1.0)
        assert_leak_below(nothing, guarantee=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    """,
    )
    result.assert_outcomes(passed=1)


def test_a_leak_and_a_small_measurement_fail_with_a_sentence_at_the_users_line(pytester):
    result = run(
        pytester,
        """
    def test_leaky(assert_leak_below):
        assert_leak_below(everything, advantage=0.05)

    def test_undecided(assert_leak_below):
        assert_leak_below(little, advantage=0.05)

    def test_broken(assert_leak_below):
        assert_leak_below(everything, guarantee=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    """,
    )
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            ">*assert_leak_below(everything, advantage=0.05)",
            "E*AssertionError: advantage must be below 0.05, measured 0.5000 with an interval from 0.49*: the release*",
            "E*AssertionError: advantage must be below 0.05, measured 0.0000*too few trials to decide*",
            "E*AssertionError: the leak must not exceed epsilon 1 for one label, and epsilon is at least 6.*",
        ]
    )
    result.stdout.no_fnmatch_line("*def assert_leak_below*")


def test_fixtures_of_a_module_may_use_it(pytester):
    result = run(
        pytester,
        """
    @pytest.fixture(scope="module")
    def release(assert_leak_below):
        assert_leak_below(nothing, advantage=0.05)

    def test_release(release):
        pass
    """,
    )
    result.assert_outcomes(passed=1)


def test_nothing_of_tacit_is_imported_before_the_fixture_is_used(pytester):
    pytester.makepyfile(
        """
    import sys

    def imported():
        return {name for name in sys.modules if name.split(".")[0] == "tacit"}

    def test_before():
        assert imported() == {"tacit", "tacit.pytest_plugin"}

    def test_control(assert_leak_below):
        assert "tacit.leak.verdict" in imported()
    """
    )
    # every warning an error, as many projects have it
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "error").assert_outcomes(passed=2)


def test_it_is_listed_and_can_be_turned_off(pytester):
    pytester.makepyfile("def test_release(assert_leak_below): pass")
    listed = pytester.runpytest_inprocess("--fixtures")
    listed.stdout.fnmatch_lines(["assert_leak_below*session*"])
    off = pytester.runpytest_inprocess("-p", "no:tacit")
    off.assert_outcomes(errors=1)
    off.stdout.fnmatch_lines(["*fixture 'assert_leak_below' not found*"])


def test_the_test_of_the_documentation_runs_and_fails_where_more_is_released(pytester):
    page = (Path(__file__).parents[1] / "docs/integrations.md").read_text(encoding="utf-8")
    source = page[page.index("## pytest") :].split("```")[1]
    pytester.makepyfile(source)
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
    pytester.makepyfile(test_leaky=source.replace("epsilon=0.1", "epsilon=1.0"))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "test_leaky.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E*AssertionError: advantage must be below 0.05, measured 0.2*the release leaks more*"]
    )
