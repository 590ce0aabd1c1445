"""What is done to keep a run plastic: a penalty, a change after the update, now and then, or after the task."""
