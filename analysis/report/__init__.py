"""The report: one HTML page with everything that a store holds, which needs no network."""
