"""The reproduction: how close the measured tables are to the paper's."""
