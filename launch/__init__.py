"""From a command to finished runs: sweep → runs → plan → packs → workers."""

import gc

# Importing torch and what compiles for it makes half a million objects, none of them garbage. By default Python looks
# through them again and again meanwhile, for cycles that nobody uses: a fifth of the time until a worker's first step.
gc.set_threshold(50_000, 20, 20)
