"""GloVe and GN-GloVe, trained on text: corpus, co-occurrences, objectives, training.

Importing this package does not load torch.
"""

from wordbias.glove.cooccurrence import Cooccurrences as Cooccurrences
from wordbias.glove.cooccurrence import count as count
from wordbias.glove.corpus import Corpus as Corpus

__all__ = ["Cooccurrences", "Corpus", "count"]
