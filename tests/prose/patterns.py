"""The private patterns of our sentences: kind → regular expression, matched without regard to case.

CONTRIBUTING.md ("How it is written") gives the rule and the words to use instead.
"""

import re
from collections.abc import Mapping

_EXPRESSIONS = {
    "what …, without its noun": r"\bwhat (?!(?:happens|we|you|i|it does)\b)[a-z]+",
    "of which, by which, …": r"\b(?:of|by|in|to|from|under|behind|at|for|with|on|into|through) which\b",
    "whose": r"\bwhose\b",
    "that of, those of": r"\b(?:that|those) of\b",
    "a clause that opens with Of": r"(?:^|[.;:,] )[Oo]f (?!course)[a-z]",
    "where for if or when": r"\bwhere (?:it|there|they|nothing|one|none|some|a|the|no|all|that|both|others?"
    r"|somebody|nobody|its|an|several|somewhere)\b",
    "as X has it": r"\bas [^.;:]{2,40}? (?:has|have|had) (?:it|them)\b",
    "stands for is": r"\bstands?\b",
    "beside": r"\bbeside\b",
    "anew": r"\banew\b",
    "alike": r"\balike\b",
    "so many, so long, …": r"\bso (?:many|long|few|large|wide)\b",
    "nobody, somebody, whoever": r"\b(?:nobody|somebody|whoever)\b",
    "its own, without a noun": r"\b(?:of (?:its|their|his|our|your|one's) own|(?:its|their|his|our) own(?! [a-z]))\b",
    "told apart": r"\b(?:tell|tells|told|telling) \w* ?apart\b",
    "comes to for amounts to": r"\bcomes? to\b",
    "else at a clause's beginning": r"[.;:,] (?:or )?else\b",
    "less for minus": r"\bless (?:the|what|its|0|1|\d)",
    "once more": r"\bonce more\b",
    "meanwhile": r"\bmeanwhile\b",
    "perhaps": r"\bperhaps\b",
    "is there, there is none": r"\b(?:is|are|was|were) there\b|\bthere (?:is|are) none\b",
    "in order for valid": r"\bin order\b(?! to)",
    "mates": r"\bmates?\b",
    "a look": r"\b(?:a|the|each|every|first|last|one|per|its|their) looks?\b",
    "headline": r"\bheadlines?\b",
    "room": r"\brooms?\b",
    "verb": r"\bverbs?\b",
}
PATTERNS: Mapping[str, re.Pattern[str]] = {kind: re.compile(e, re.IGNORECASE) for kind, e in _EXPRESSIONS.items()}
