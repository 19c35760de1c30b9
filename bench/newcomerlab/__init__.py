"""What a newcomer asks, written by a hand that has not seen the code: see ``bench.newcomer``."""
