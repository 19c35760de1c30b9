"""What every room stands on: values, errors, ports, records, settings, the clock, guarded outside calls."""
