"""What is done to keep a run plastic: a penalty, a change after the step, or after the task."""
