"""The five papers behind tacit: theorems as tested code, tables and figures run again, errors of the print."""
