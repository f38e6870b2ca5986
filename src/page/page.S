/* The page's template, as bytes of the program: selfnorm_page, selfnorm_page_size of them. */
    .section .rodata
    .global selfnorm_page
    .type selfnorm_page, %object
selfnorm_page:
    .incbin SELFNORM_PAGE
.Lend:
    .size selfnorm_page, .Lend - selfnorm_page
    .balign 8
    .global selfnorm_page_size
    .type selfnorm_page_size, %object
    .size selfnorm_page_size, 8
selfnorm_page_size:
    .quad .Lend - selfnorm_page
    .section .note.GNU-stack, "", %progbits
