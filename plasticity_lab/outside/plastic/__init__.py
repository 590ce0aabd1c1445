"""The laboratory's interventions on any module and any optimizer of torch."""
