"""The page docs/published.md: every table and figure of the five papers, with ours beside it, made from the JSON.

    python -m papers.page            # writes docs/published.md
    python -m papers.page --check    # fails if the page is not what the JSON gives

Printed values are data in the module of their paper; ours are read from benchmarks/results, never typed. What has no
points there is listed as not reproduced, and is filled in by the same command once it has.
"""
