"""Learning from released features: Fisher's rules, with the release's noise taken out."""

__all__: list[str] = []
