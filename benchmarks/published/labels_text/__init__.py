"""Label privacy on texts: Tables 6 and 7 of "Retraining with Predicted Hard Labels", and a recipe past them."""
