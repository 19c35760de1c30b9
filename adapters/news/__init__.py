"""Headlines from feeds and Hacker News."""

from adapters.news.adapter import News

__all__ = ["News"]
