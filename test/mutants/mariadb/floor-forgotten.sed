# src/store/mariadb/schema.sql: the tokens of lines that were deleted are forgotten
# caught by: mariadb/procedures.py
/FUNCTION hf_sweep_lines(/,/^END/ s/floor = GREATEST(floor, v_floor);/floor = floor;/
