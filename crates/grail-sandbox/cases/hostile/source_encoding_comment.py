# expect: value 2
# tries: to have its source read in another encoding
# -*- coding: utf-7 -*-
1 + 1
