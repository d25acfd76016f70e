# src/store/postgres/schema.sql: the tokens of lines that were swept are forgotten
# caught by: postgres/functions.py
/^CREATE OR REPLACE FUNCTION holdfast.sweep_lines(/,/^END/ s/floor = greatest(floor, v_floor);/floor = floor;/
