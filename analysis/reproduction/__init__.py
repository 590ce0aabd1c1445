"""How closely the measured tables reproduce the paper's."""
