"""From evidence to an answer: prompt, models in their order, extraction, the honest answer, confidence."""
