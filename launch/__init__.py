"""From a command to finished runs: sweep → runs → plan → packs → workers."""
