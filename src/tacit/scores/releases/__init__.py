"""What a competition releases: its rules, and the answers under them."""

from tacit.scores.releases.setting import Budget, Setting, Split, complete_setting, default_setting, identify

__all__ = ["Budget", "Setting", "Split", "complete_setting", "default_setting", "identify"]
