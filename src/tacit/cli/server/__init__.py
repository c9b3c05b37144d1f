"""The commands of a competition: hosting it, taking part in it, and attacking a copy of it."""
