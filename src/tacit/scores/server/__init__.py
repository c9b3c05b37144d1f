"""The scoring server: competitions whose labels stay inside."""

from tacit.scores.server.engine import Engine
from tacit.scores.server.limits import Limits, Rate
from tacit.scores.server.records import (
    Anyone,
    Competition,
    FinalPlace,
    Flag,
    Host,
    Place,
    Registration,
    Remaining,
    Score,
    Spend,
    Team,
)
from tacit.scores.server.settings import Settings
from tacit.scores.server.terms import Terms

from tacit.scores.server.app import create_app, serve  # isort: skip  (its pages import the names above)

__all__ = [
    "Anyone",
    "Competition",
    "Engine",
    "FinalPlace",
    "Flag",
    "Host",
    "Limits",
    "Place",
    "Rate",
    "Registration",
    "Remaining",
    "Score",
    "Settings",
    "Spend",
    "Team",
    "Terms",
    "create_app",
    "serve",
]
