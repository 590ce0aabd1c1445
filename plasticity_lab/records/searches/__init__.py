"""The searches of a store: the settings they try, their batches, the results of their trials, their Optuna studies."""
