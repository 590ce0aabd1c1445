"""What W&B is given: a run's name, content and rows, written from its record or while it trains."""
