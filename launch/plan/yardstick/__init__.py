"""The workloads by which a device is measured, for calibration and bench alike."""
