"""Learning from released features: Fisher's rules, corrected for the noise of the release."""

__all__: list[str] = []
