# src/recipe/all_of.c: several locks as one are acquired in the order given: two sets wait for each other
# caught by: recipe/all_of on memory
s/qsort(/(void)(qsort), (void)(/
