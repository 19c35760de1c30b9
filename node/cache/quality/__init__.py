"""How often hits are right: labels, estimates, audits, and what follows from them."""
