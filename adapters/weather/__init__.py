"""Weather now, ahead and in the past, from Open-Meteo."""

from adapters.weather.adapter import Weather

__all__ = ["Weather"]
