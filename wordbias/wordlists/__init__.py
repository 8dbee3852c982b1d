"""Words that bias is measured with: attributes, queries, first names, sentence templates."""

from wordbias.wordlists.attribute_files import ATTRIBUTES as ATTRIBUTES
from wordbias.wordlists.groups import Attribute as Attribute
from wordbias.wordlists.groups import GroupsLike as GroupsLike
from wordbias.wordlists.groups import WordGroups as WordGroups
from wordbias.wordlists.groups import WordSets as WordSets
from wordbias.wordlists.groups import load_attribute as load_attribute
from wordbias.wordlists.groups import notes_on_language as notes_on_language
from wordbias.wordlists.groups import other_than_gender as other_than_gender
from wordbias.wordlists.groups import resolve_groups as resolve_groups
from wordbias.wordlists.queries import Query as Query
from wordbias.wordlists.queries import choose_query as choose_query
from wordbias.wordlists.queries import group_queries as group_queries
from wordbias.wordlists.queries import load_queries as load_queries
from wordbias.wordlists.queries import load_two_sets as load_two_sets
from wordbias.wordlists.resolve import Resolved as Resolved
from wordbias.wordlists.resolve import candidates as candidates
from wordbias.wordlists.resolve import resolve as resolve
from wordbias.wordlists.resolve import resolve_pairs as resolve_pairs
from wordbias.wordlists.templates import Gendered as Gendered
from wordbias.wordlists.templates import Templates as Templates
from wordbias.wordlists.templates import common_names as common_names
from wordbias.wordlists.templates import names as names
from wordbias.wordlists.templates import test_names as test_names
from wordbias.wordlists.toml import wordlist as wordlist

__all__ = [
    "ATTRIBUTES",
    "Attribute",
    "Gendered",
    "GroupsLike",
    "Query",
    "Resolved",
    "Templates",
    "WordGroups",
    "WordSets",
    "candidates",
    "choose_query",
    "common_names",
    "group_queries",
    "load_attribute",
    "load_queries",
    "load_two_sets",
    "names",
    "notes_on_language",
    "other_than_gender",
    "resolve",
    "resolve_groups",
    "resolve_pairs",
    "test_names",
    "wordlist",
]
