"""Learning from aggregated data: curated bags versus random bags (Chen et al., 2023)."""
