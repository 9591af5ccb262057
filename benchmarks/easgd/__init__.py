"""The EASGD benchmark: the time to a given accuracy for twelve update rules on slow links."""
