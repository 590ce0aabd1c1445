"""The data that W&B gets: a run's name, content and rows, written from its record or while it trains."""
