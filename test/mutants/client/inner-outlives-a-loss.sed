# src/client/handle/nested.c: a reader inside a lock that was lost still believes that it holds
# caught by: unit/client/handle/nested
/^void hf_nested_lose_inner/,/^}/ s/if (outer->nested.inner == 0)/if (outer->nested.inner < 1000)/
