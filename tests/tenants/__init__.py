"""Two tenants that no room of the laboratory knows: an agent of environments, and an intervention that draws."""
